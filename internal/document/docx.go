package document

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"longhaul/internal/task"
)

// docx is the state of reading a Word document.
type docx struct {
	*archive
	out      writer
	folder   string            // folder of the main part
	styles   map[string]style  // by style id
	lists    map[string]list   // by number id
	targets  map[string]string // relationships of the main part, by id
	warnings []string
}

// notes lists the parts with notes to the main part, and the prefix of each note.
var notes = []struct{ part, prefix string }{
	{"footnotes.xml", "[^%s]: "}, {"endnotes.xml", "[^e%s]: "}, {"comments.xml", "Comment: "},
}

// readDOCX extracts the paragraphs, lists, tables, text boxes and notes of a Word document.
func readDOCX(j *job) (Text, error) {
	a, err := openArchive(j)
	if err != nil {
		return Text{}, err
	}
	main := mainPart(a)
	d := &docx{archive: a, folder: path.Dir(main), out: writer{limit: j.limit}, targets: targets(a, main)}
	if err := errors.Join(d.loadStyles(), d.loadLists()); err != nil {
		return Text{}, err
	}
	if err := d.write(main, ""); err != nil {
		if errors.Is(err, errNoPart) {
			err = damaged("the Word document has no main part", err)
		}
		return Text{}, err
	}
	for _, n := range notes {
		if err := d.write(path.Join(d.folder, n.part), n.prefix); err != nil && !errors.Is(err, errNoPart) {
			return Text{}, err
		}
	}
	if blank(d.out.String()) && a.holds(path.Join(d.folder, "media")+"/") {
		return Text{}, task.Errorf(task.NoText, "the Word document contains pictures and no text; run OCR on it first")
	}
	return Text{Markdown: d.out.String(), Warnings: d.warnings}, nil
}

// relationships lists the references from one part of a package to others.
type relationships struct {
	All []struct {
		ID     string `xml:"Id,attr"`
		Type   string `xml:",attr"`
		Target string `xml:",attr"`
	} `xml:"Relationship"`
}

// mainPart returns the name of the main part, or its usual name if the package does not declare one.
func mainPart(a *archive) string {
	var found relationships
	_ = a.decode("_rels/.rels", &found) // a missing part means the usual names
	for _, r := range found.All {
		if name := partName(r.Target); strings.HasSuffix(r.Type, "/officeDocument") && a.parts[name] != nil {
			return name
		}
	}
	return "word/document.xml"
}

// targets returns the parts that a part refers to, by relationship id.
func targets(a *archive, part string) map[string]string {
	var found relationships
	_ = a.decode(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"), &found) // a missing part means no references
	out := make(map[string]string, len(found.All))
	for _, r := range found.All {
		out[r.ID] = path.Join(path.Dir(part), r.Target)
	}
	return out
}

// write adds the text of one part, parsing it strictly and then leniently. A part that is damaged half-way gives its
// first half and a warning.
func (d *docx) write(part, prefix string) error {
	data, err := d.part(part)
	if err != nil {
		return err
	}
	before := d.out.String()
	if err := d.body(data, prefix, true); err == nil || d.out.over() || ours(err) {
		return err
	}
	d.out.Reset()
	d.out.WriteString(before)
	err = d.body(data, prefix, false)
	switch {
	case err == nil || ours(err):
		return err
	case d.out.Len() > len(before):
		d.warnings = append(d.warnings, path.Base(part)+" inside the file is damaged; the text ends where the damage begins")
		return nil
	}
	return damaged(path.Base(part)+" inside the file cannot be read", err)
}

// ours reports whether an error is a verdict on the document rather than an XML error.
func ours(err error) bool {
	_, ok := errors.AsType[*task.Error](err)
	return ok
}

// decode unmarshals a small XML part into out.
func (a *archive) decode(part string, out any) error {
	data, err := a.part(part)
	if err != nil {
		return err
	}
	return xmlDecoder(data, false).Decode(out)
}

// xmlDecoder reads XML in any encoding. It never follows external entities; in lenient mode it accepts unknown
// entities and unclosed tags.
func xmlDecoder(data []byte, strict bool) *xml.Decoder {
	text, _ := decode(data, "", true)
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // decode has converted it to UTF-8
	if !strict {
		d.Strict, d.Entity = false, xml.HTMLEntity
	}
	return d
}
