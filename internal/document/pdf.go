package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdferrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"

	"longhaul/internal/task"
)

const (
	mostPages    = 50_000 // broken files claim billions of pages
	scannedBelow = 20     // visible characters; a page with a picture and fewer characters is a scan
	garbledAbove = 0.1    // share of characters without meaning

	objectsLooked = 50 // objects of a page or form searched for a picture
)

// pdfDocument is an open PDF and the results of reading it.
type pdfDocument struct {
	lib     pdfium.Pdfium
	doc     references.FPDF_DOCUMENT
	out     writer
	starts  []int    // start of each page in out
	broken  pageList // unreadable pages
	scanned pageList // pages with a picture of text
	garbled pageList // pages whose characters have no meaning
}

// readPDF extracts the text of every page. An unreadable page is a warning, not an error.
func readPDF(j *job) (Text, error) {
	lib, err := j.engine.instance()
	if err != nil {
		return Text{}, err
	}
	defer func() { _ = lib.Close() }() // the next document gets a fresh instance
	open := &requests.OpenDocument{FileReader: j.file, FileReaderSize: j.size}
	if j.Password != "" {
		open.Password = &j.Password
	}
	opened, err := lib.OpenDocument(open)
	if err != nil {
		return Text{}, openError(err, j.Password != "")
	}
	count, err := lib.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return Text{}, damaged("the pages of the PDF cannot be counted", err)
	}
	if count.PageCount > mostPages {
		return Text{}, task.Errorf(task.DocumentTooComplex, "the PDF declares %d pages, the limit is %d; split it", count.PageCount, mostPages)
	}
	d := &pdfDocument{lib: lib, doc: opened.Document, out: writer{limit: j.limit}}
	for i := range count.PageCount {
		d.page(i)
		j.progress(i+1, count.PageCount)
		if d.out.over() {
			return Text{}, tooMuchText(j.limit)
		}
	}
	return d.verdict(count.PageCount)
}

// openError explains why a PDF cannot be opened.
func openError(err error, hasPassword bool) error {
	switch {
	case errors.Is(err, pdferrors.ErrPassword) && hasPassword:
		return task.Errorf(task.PasswordRequired, "the password does not open the PDF; correct `password`")
	case errors.Is(err, pdferrors.ErrPassword):
		return task.Errorf(task.PasswordRequired, "the PDF is encrypted; supply `password`, or send the file without encryption")
	case errors.Is(err, pdferrors.ErrSecurity):
		return task.Errorf(task.PasswordRequired, "the encryption of the PDF is not supported; send the file without encryption")
	}
	return damaged("the PDF cannot be opened", err)
}

// page adds the text of one page; index starts at 0.
func (d *pdfDocument) page(index int) {
	text, pictures, err := d.pageText(index)
	seen := count(text, visible)
	switch {
	case err != nil:
		d.broken.add(index)
	case seen < scannedBelow && pictures:
		d.scanned.add(index)
	case garbledShare(text) > garbledAbove:
		d.garbled.add(index)
	}
	d.starts = append(d.starts, d.out.Len())
	if seen > 0 {
		d.out.WriteString(strings.TrimSpace(text) + "\n\n")
	}
}

// pageText returns a page's text and whether the page has pictures. Flattening draws form fields and notes into the
// page, which makes them part of its text.
func (d *pdfDocument) pageText(index int) (text string, pictures bool, err error) {
	page, err := d.load(index)
	if err != nil {
		return "", false, err
	}
	notes, err := d.lib.FPDFPage_GetAnnotCount(&requests.FPDFPage_GetAnnotCount{Page: page})
	if err == nil && notes.Count > 0 {
		_, _ = d.lib.FPDFPage_Flatten(&requests.FPDFPage_Flatten{Page: page, Usage: requests.FPDFPage_FlattenUsageNormalDisplay})
		d.close(page)
		if page, err = d.load(index); err != nil {
			return "", false, err
		}
	}
	defer d.close(page)
	got, err := d.lib.GetPageText(&requests.GetPageText{Page: page})
	if err != nil {
		return "", false, err
	}
	text = reflow(mendHyphens(strings.ReplaceAll(got.Text, "\r\n", "\n")))
	return text, count(text, visible) < scannedBelow && d.hasPictures(page), nil
}

func (d *pdfDocument) load(index int) (requests.Page, error) {
	loaded, err := d.lib.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: d.doc, Index: index})
	if err != nil {
		return requests.Page{}, err
	}
	return requests.Page{ByReference: &loaded.Page}, nil
}

func (d *pdfDocument) close(page requests.Page) {
	_, _ = d.lib.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: *page.ByReference})
}

// hasPictures searches the first objects of a page for an image.
func (d *pdfDocument) hasPictures(page requests.Page) bool {
	objects, err := d.lib.FPDFPage_CountObjects(&requests.FPDFPage_CountObjects{Page: page})
	if err != nil {
		return false
	}
	for i := range min(objects.Count, objectsLooked) {
		object, err := d.lib.FPDFPage_GetObject(&requests.FPDFPage_GetObject{Page: page, Index: i})
		if err == nil && d.isPicture(object.PageObject, 0) {
			return true
		}
	}
	return false
}

// isPicture reports whether an object is an image or a form (a reusable drawing) that contains an image.
func (d *pdfDocument) isPicture(object references.FPDF_PAGEOBJECT, depth int) bool {
	const deep = 3
	kind, err := d.lib.FPDFPageObj_GetType(&requests.FPDFPageObj_GetType{PageObject: object})
	if err != nil || kind.Type != enums.FPDF_PAGEOBJ_FORM || depth == deep {
		return err == nil && kind.Type == enums.FPDF_PAGEOBJ_IMAGE
	}
	inner, err := d.lib.FPDFFormObj_CountObjects(&requests.FPDFFormObj_CountObjects{PageObject: object})
	if err != nil {
		return false
	}
	for i := range min(inner.Count, objectsLooked) {
		child, err := d.lib.FPDFFormObj_GetObject(&requests.FPDFFormObj_GetObject{PageObject: object, Index: uint64(i)})
		if err == nil && d.isPicture(child.PageObject, depth+1) {
			return true
		}
	}
	return false
}

// verdict returns the text with its warnings, or an error if the text is unusable.
func (d *pdfDocument) verdict(pages int) (Text, error) {
	text := d.out.String()
	switch {
	case len(d.broken.pages) == pages:
		return Text{}, damaged("none of the pages can be read", nil)
	case blank(text), len(d.scanned.pages)*2 > pages && count(text, visible) < scannedBelow*pages:
		return Text{}, task.Errorf(task.NoText, "the PDF has almost no text on %d pages and is probably a scan; run OCR on it first", pages)
	case garbledShare(text) > garbledAbove:
		return Text{}, task.Errorf(task.GarbledText,
			"the fonts of the PDF do not map to characters, so %.0f %% of the text has no meaning; run OCR on it first", 100*garbledShare(text))
	}
	out := Text{Pages: pages}
	out.Markdown, out.PageStarts = cleanPages(text, d.starts)
	for _, warning := range []string{
		d.broken.warning("unreadable"),
		d.scanned.warning("picture without text, OCR needed"),
		d.garbled.warning("characters without meaning"),
	} {
		if warning != "" {
			out.Warnings = append(out.Warnings, warning)
		}
	}
	return out, nil
}

// cleanPages cleans a text page by page and returns the new start of each page.
func cleanPages(text string, starts []int) (string, []int) {
	var b strings.Builder
	moved := make([]int, len(starts))
	for i, start := range starts {
		moved[i] = b.Len()
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if page := clean(text[start:end]); page != "" {
			b.WriteString(page + "\n\n")
		}
	}
	whole := strings.TrimRight(b.String(), "\n")
	for i, start := range moved {
		moved[i] = min(start, len(whole))
	}
	return whole, moved
}

// pageList collects page numbers, counted from 1.
type pageList struct{ pages []int }

func (l *pageList) add(index int) { l.pages = append(l.pages, index+1) }

// warning names the pages, at most the first 20.
func (l *pageList) warning(problem string) string {
	const most = 20
	if len(l.pages) == 0 {
		return ""
	}
	names := strings.Trim(strings.ReplaceAll(fmt.Sprint(l.pages[:min(len(l.pages), most)]), " ", ", "), "[]")
	if more := len(l.pages) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return "pages " + names + ": " + problem
}

// count returns the number of characters of a kind.
func count(text string, kind func(rune) bool) int {
	n := 0
	for _, r := range text {
		if kind(r) {
			n++
		}
	}
	return n
}
