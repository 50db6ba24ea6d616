package main

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"io"
	"strings"
)

const (
	contentTypes = `<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>`
	packageRels = `<?xml version="1.0" encoding="UTF-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`
	documentRels = `<?xml version="1.0" encoding="UTF-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>`
	namespace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"`
	styles    = `<?xml version="1.0" encoding="UTF-8"?>
<w:styles ` + namespace + `><w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:rPr><w:b/><w:sz w:val="40"/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:rPr><w:b/><w:sz w:val="28"/></w:rPr></w:style></w:styles>`
)

// docx writes a report as a Word file.
func docx(r report) ([]byte, error) {
	var body strings.Builder
	paragraph(&body, "Title", r.title)
	for _, s := range r.sections {
		paragraph(&body, "Heading1", s.heading)
		for _, text := range s.paragraphs {
			paragraph(&body, "", text)
		}
		table(&body, s.table)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, part := range []struct{ name, text string }{
		{"[Content_Types].xml", contentTypes},
		{"_rels/.rels", packageRels},
		{"word/_rels/document.xml.rels", documentRels},
		{"word/styles.xml", styles},
		{"word/document.xml", `<?xml version="1.0" encoding="UTF-8"?>` + "\n<w:document " + namespace + "><w:body>" + body.String() + "</w:body></w:document>"},
	} {
		w, err := z.Create(part.name)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, part.text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func paragraph(out *strings.Builder, style, text string) {
	out.WriteString("<w:p>")
	if style != "" {
		out.WriteString(`<w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>`)
	}
	out.WriteString(`<w:r><w:t xml:space="preserve">`)
	_ = xml.EscapeText(out, []byte(text)) // a strings.Builder takes everything
	out.WriteString("</w:t></w:r></w:p>")
}

func table(out *strings.Builder, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	out.WriteString("<w:tbl>")
	for _, row := range rows {
		out.WriteString("<w:tr>")
		for _, cell := range row {
			out.WriteString("<w:tc>")
			paragraph(out, "", cell)
			out.WriteString("</w:tc>")
		}
		out.WriteString("</w:tr>")
	}
	out.WriteString("</w:tbl>")
}
