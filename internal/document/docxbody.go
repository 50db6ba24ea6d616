package document

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"longhaul/internal/task"
)

// deepest is the maximum nesting depth of elements.
const deepest = 4000

// body walks the XML of one part of a Word document and writes Markdown.
type body struct {
	*docx
	xml    *xml.Decoder
	prefix string             // prefix of each note in a notes part; %s is the note's number
	sink   func(block string) // receives finished paragraphs and tables: the output, a cell or a note
	para   *paragraph         // the paragraph being read; nil between paragraphs
	rows   *[][]string        // rows of the table being read; nil outside tables
	depth  int
}

// paragraph is the paragraph being read.
type paragraph struct {
	text    strings.Builder
	style   string
	outline string // outline level; "" means the style's
	numID   string // list id; "" means the style's
	level   string // level in the list; "" means the style's
	after   []string
}

// body writes one part.
func (d *docx) body(data []byte, prefix string, strict bool) error {
	b := &body{docx: d, xml: xmlDecoder(data, strict), prefix: prefix}
	b.sink = func(block string) {
		if block != "" {
			d.out.WriteString(block + "\n\n")
		}
	}
	return b.walk()
}

// walk reads to the end of the current element, or of the part.
func (b *body) walk() error {
	if b.depth++; b.depth > deepest {
		return task.Errorf(task.DocumentTooComplex, "elements of the document are nested deeper than the limit of %d; save it again with another program", deepest)
	}
	defer func() { b.depth-- }()
	for !b.out.over() {
		token, err := b.xml.Token()
		if errors.Is(err, io.EOF) && b.depth == 1 {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if err := b.element(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
	return nil
}

// element reads one element by its local name, since Word uses two namespaces. It walks through unknown elements.
func (b *body) element(e xml.StartElement) error {
	switch e.Name.Local {
	case "p":
		return b.paragraph()
	case "tbl":
		return b.table()
	case "tr":
		return b.row()
	case "tc":
		return b.cell()
	case "txbxContent":
		return b.textBox()
	case "footnote", "endnote", "comment":
		return b.note(e)
	case "altChunk":
		b.embedded(attribute(e, "id"))
	case "del", "moveFrom", "delText", "delInstrText", "instrText", "fldData", "Fallback", "rt", "rPr", "sdtPr", "sectPr",
		"tabs", "pPrChange", "tblPrChange", "trPrChange", "tcPrChange", "numberingChange":
		return b.xml.Skip() // deleted, duplicated, or not text
	}
	if b.para != nil {
		return b.inside(e)
	}
	return b.walk()
}

// inside reads an element of a paragraph.
func (b *body) inside(e xml.StartElement) error {
	p := b.para
	switch e.Name.Local {
	case "t":
		return b.characters()
	case "tab", "ptab":
		p.text.WriteByte('\t')
	case "br", "cr":
		p.text.WriteByte('\n')
	case "noBreakHyphen":
		p.text.WriteByte('-')
	case "pStyle":
		p.style = attribute(e, "val")
	case "outlineLvl":
		p.outline = attribute(e, "val")
	case "numId":
		p.numID = attribute(e, "val")
	case "ilvl":
		p.level = attribute(e, "val")
	case "footnoteReference":
		p.text.WriteString("[^" + attribute(e, "id") + "]")
	case "endnoteReference":
		p.text.WriteString("[^e" + attribute(e, "id") + "]")
	}
	return b.walk()
}

// characters reads the text of a run.
func (b *body) characters() error {
	for {
		token, err := b.xml.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.CharData:
			b.para.text.Write(t)
		case xml.StartElement:
			if err := b.xml.Skip(); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

func (b *body) paragraph() error {
	outer := b.para
	p := &paragraph{}
	b.para = p
	err := b.walk()
	b.para = outer
	b.sink(b.render(p))
	for _, block := range p.after {
		b.sink(block)
	}
	return err
}

// collect returns the blocks of an element instead of writing them.
func (b *body) collect() ([]string, error) {
	sink, para := b.sink, b.para
	var blocks []string
	b.sink = func(block string) {
		if block != "" {
			blocks = append(blocks, block)
		}
	}
	b.para = nil
	err := b.walk()
	b.sink, b.para = sink, para
	return blocks, err
}

// textBox holds the blocks of a text box back until the surrounding paragraph is complete.
func (b *body) textBox() error {
	blocks, err := b.collect()
	if b.para == nil {
		for _, block := range blocks {
			b.sink(block)
		}
		return err
	}
	b.para.after = append(b.para.after, blocks...)
	return err
}

// note reads a footnote, endnote or comment, and skips separators.
func (b *body) note(e xml.StartElement) error {
	if kind := attribute(e, "type"); kind != "" && kind != "normal" {
		return b.xml.Skip()
	}
	blocks, err := b.collect()
	if len(blocks) > 0 {
		b.sink(strings.ReplaceAll(b.prefix, "%s", attribute(e, "id")) + strings.TrimSpace(strings.Join(blocks, " ")))
	}
	return err
}

// table writes a Markdown table; a nested table becomes plain text of its cell.
func (b *body) table() error {
	outer := b.rows
	rows := &[][]string{}
	b.rows = rows
	err := b.walk()
	b.rows = outer
	var out strings.Builder
	for n, row := range *rows {
		if outer != nil {
			out.WriteString(strings.Join(row, " ") + " ")
			continue
		}
		tableRow(&out, row, n == 0)
	}
	b.sink(strings.TrimSpace(out.String()))
	return err
}

func (b *body) row() error {
	if b.rows == nil {
		return b.walk()
	}
	*b.rows = append(*b.rows, nil)
	return b.walk()
}

func (b *body) cell() error {
	blocks, err := b.collect()
	text := strings.Join(blocks, " ")
	if b.rows == nil || len(*b.rows) == 0 {
		b.sink(text)
		return err
	}
	last := &(*b.rows)[len(*b.rows)-1]
	*last = append(*last, text)
	return err
}

// embedded adds a web page or text embedded as a part.
func (b *body) embedded(id string) {
	part := b.targets[id]
	data, err := b.part(part)
	switch ext := strings.ToLower(path.Ext(part)); {
	case err == nil && (ext == ".htm" || ext == ".html" || ext == ".xhtml"):
		page, _ := decode(data, "", true)
		b.sink(markdownOf(page))
	case err == nil && ext == ".txt":
		text, _ := decode(data, "", false)
		b.sink(text)
	default:
		b.warnings = append(b.warnings, "an embedded document was not read")
	}
}

// attribute returns an attribute by its local name; "" if absent.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
