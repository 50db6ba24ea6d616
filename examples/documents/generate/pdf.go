package main

import (
	"bytes"
	"fmt"
	"strings"
)

// The page, in points: A4 with wide margins.
const (
	pageWidth, pageHeight = 595, 842
	margin                = 72
	leading               = 16
	linesOnPage           = (pageHeight - 2*margin) / leading
	lineLength            = 82 // characters of 11 point Helvetica, on the safe side
)

// pdf sets an essay in Helvetica on as many pages as it needs.
func pdf(e essay) []byte {
	const fixed = 4 // catalogue, page tree, two fonts
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>",
	}
	var kids []string
	for _, page := range pages(e) {
		kids = append(kids, fmt.Sprintf("%d 0 R", fixed+1+2*len(kids)))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Resources << /Font << /R 3 0 R /B 4 0 R >> >> /Contents %d 0 R >>",
				pageWidth, pageHeight, len(objects)+2),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(page), page))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	return file(objects)
}

// pages writes the drawing instructions of each page.
func pages(e essay) []string {
	lines := []string{"/B 16 Tf (" + escape(e.title) + ") Tj /R 11 Tf T*", "T*"}
	for _, paragraph := range e.paragraphs {
		for _, line := range wrap(paragraph) {
			lines = append(lines, "("+escape(line)+") Tj T*")
		}
		lines = append(lines, "T*")
	}
	var out []string
	for len(lines) > 0 {
		n := min(len(lines), linesOnPage)
		out = append(out, fmt.Sprintf("BT /R 11 Tf %d TL %d %d Td\n%s\nET", leading, margin, pageHeight-margin, strings.Join(lines[:n], "\n")))
		lines = lines[n:]
	}
	return out
}

// wrap breaks a paragraph into lines between words.
func wrap(paragraph string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(paragraph) {
		if line != "" && len(line)+1+len(word) > lineLength {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
}

// file puts objects, of which the first is the catalogue, into a PDF file.
func file(objects []string) []byte {
	var out bytes.Buffer
	out.WriteString("%PDF-1.4\n")
	var offsets strings.Builder
	for i, object := range objects {
		fmt.Fprintf(&offsets, "%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n%s", len(objects)+1, offsets.String())
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return out.Bytes()
}
