package document

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"longhaul/internal/task"
)

// deepest is how far elements of a document may be nested.
const deepest = 4000

// body walks through the XML of one part of a Word document and writes Markdown.
type body struct {
	*docx
	xml    *xml.Decoder
	prefix string             // of each note, in a part of notes; %s is its number
	sink   func(block string) // takes finished paragraphs and tables: the output, a cell, a note
	para   *paragraph         // being read; nil between paragraphs
	rows   *[][]string        // of the table being read; nil outside
	depth  int
}

// paragraph is one being read.
type paragraph struct {
	text    strings.Builder
	style   string
	outline string // outline level of its own; "" means that of its style
	numID   string // list; "" means that of its style
	level   string // in that list
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

// walk reads up to the end of the element just begun, or of the part.
func (b *body) walk() error {
	if b.depth++; b.depth > deepest {
		return task.Errorf(task.DocumentTooComplex, "its elements are nested more than %d deep", deepest)
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

// element reads one element. What it does not know it walks through, whatever the namespace: there
// are two of Word alone.
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
		return b.xml.Skip() // deleted, doubled, or not text
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

// collect gathers the blocks of an element instead of writing them.
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

// textBox keeps what floats beside a paragraph until that is complete.
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

// note reads a footnote, endnote or comment; the separators among them say nothing.
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

// table writes a Markdown table; one inside a cell becomes plain text of that cell.
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

// embedded adds a web page or text that the document holds as a part of its own.
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
		b.warnings = append(b.warnings, "a document embedded in it was not read")
	}
}

// attribute gives an attribute by its local name; "" when there is none.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
