package document

import (
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"

	"longhaul/internal/task"
)

// docx is a Word document being read.
type docx struct {
	*archive
	out      writer
	folder   string            // where the main part and those beside it are
	styles   map[string]style  // by id
	lists    map[string]list   // by number id
	targets  map[string]string // of relationships of the main part, by id
	warnings []string
}

// notes are parts that hold notes to the main part, and how each note begins.
var notes = []struct{ part, prefix string }{
	{"footnotes.xml", "[^%s]: "}, {"endnotes.xml", "[^e%s]: "}, {"comments.xml", "Comment: "},
}

// readDOCX takes the paragraphs, lists, tables, text boxes and notes of a Word document.
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
			err = damaged("it has no main part", err)
		}
		return Text{}, err
	}
	for _, n := range notes {
		if err := d.write(path.Join(d.folder, n.part), n.prefix); err != nil && !errors.Is(err, errNoPart) {
			return Text{}, err
		}
	}
	if blank(d.out.String()) && a.holds(path.Join(d.folder, "media")+"/") {
		return Text{}, task.Errorf(task.NoText, "it holds pictures and no text; run OCR over it first")
	}
	return Text{Markdown: d.out.String(), Warnings: d.warnings}, nil
}

// relationships is how one part of a package names others.
type relationships struct {
	All []struct {
		ID     string `xml:"Id,attr"`
		Type   string `xml:",attr"`
		Target string `xml:",attr"`
	} `xml:"Relationship"`
}

// mainPart finds the document among the parts; by its usual name if the package does not say.
func mainPart(a *archive) string {
	var found relationships
	_ = a.decode("_rels/.rels", &found) // a package without it has the usual names
	for _, r := range found.All {
		if name := partName(r.Target); strings.HasSuffix(r.Type, "/officeDocument") && a.parts[name] != nil {
			return name
		}
	}
	return "word/document.xml"
}

// targets gives the parts that a part refers to.
func targets(a *archive, part string) map[string]string {
	var found relationships
	_ = a.decode(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"), &found) // it may refer to none
	out := make(map[string]string, len(found.All))
	for _, r := range found.All {
		out[r.ID] = path.Join(path.Dir(part), r.Target)
	}
	return out
}

// write adds the text of one part, strictly or else forgivingly. One that breaks off half-way gives
// its first half and a warning.
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

// ours tells a verdict from a fault in the XML.
func ours(err error) bool {
	_, ok := errors.AsType[*task.Error](err)
	return ok
}

// decode reads a small XML part into out.
func (a *archive) decode(part string, out any) error {
	data, err := a.part(part)
	if err != nil {
		return err
	}
	return xmlDecoder(data, false).Decode(out)
}

// xmlDecoder reads XML in any encoding. It follows no external entities; the forgiving way takes
// unknown ones, and tags left open.
func xmlDecoder(data []byte, strict bool) *xml.Decoder {
	text, _ := decode(data, "", true)
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is UTF-8 by now
	if !strict {
		d.Strict, d.Entity = false, xml.HTMLEntity
	}
	return d
}
