package document

import (
	"errors"
	"path"
	"strconv"
	"strings"
)

// style holds the properties of a paragraph style that concern headings and lists.
type style struct {
	parent  string
	outline string // outline level, from "0"; "" means the parent's
	numID   string
	level   string
}

// list is a numbering: the format and the current counter of each level.
type list struct {
	levels   []listLevel
	counters *[listLevels]int // shared by lists that continue each other
}

// listLevels is the maximum number of levels in a list.
const listLevels = 9

type listLevel struct {
	bullet bool
	start  int
	text   string // such as "%1.%2"
}

// value is an element whose only content is its val attribute.
type value struct {
	Val string `xml:"val,attr"`
}

// loadStyles reads the styles; missing or broken styles count as no styles.
func (d *docx) loadStyles() error {
	var sheet struct {
		All []struct {
			ID      string `xml:"styleId,attr"`
			Name    value  `xml:"name"`
			BasedOn value  `xml:"basedOn"`
			Outline value  `xml:"pPr>outlineLvl"`
			NumID   value  `xml:"pPr>numPr>numId"`
			Level   value  `xml:"pPr>numPr>ilvl"`
		} `xml:"style"`
	}
	if err := d.decode(path.Join(d.folder, "styles.xml"), &sheet); ours(err) {
		return err
	}
	d.styles = make(map[string]style, len(sheet.All))
	for _, s := range sheet.All {
		if strings.EqualFold(s.Name.Val, "title") && s.Outline.Val == "" {
			s.Outline.Val = "0"
		}
		d.styles[s.ID] = style{parent: s.BasedOn.Val, outline: s.Outline.Val, numID: s.NumID.Val, level: s.Level.Val}
	}
	return nil
}

// loadLists reads the numberings; missing or broken numberings count as no lists.
func (d *docx) loadLists() error {
	var sheet struct {
		Abstract []struct {
			ID     string `xml:"abstractNumId,attr"`
			Levels []struct {
				Start  value `xml:"start"`
				Format value `xml:"numFmt"`
				Text   value `xml:"lvlText"`
			} `xml:"lvl"`
		} `xml:"abstractNum"`
		Numbers []struct {
			ID       string  `xml:"numId,attr"`
			Abstract value   `xml:"abstractNumId"`
			Restarts []value `xml:"lvlOverride>startOverride"`
		} `xml:"num"`
	}
	if err := d.decode(path.Join(d.folder, "numbering.xml"), &sheet); ours(err) {
		return err
	}
	abstract := make(map[string]list, len(sheet.Abstract))
	for _, a := range sheet.Abstract {
		l := list{counters: new([listLevels]int)}
		for _, level := range a.Levels[:min(len(a.Levels), listLevels)] {
			start, err := strconv.Atoi(level.Start.Val)
			if err != nil {
				start = 1
			}
			l.levels = append(l.levels, listLevel{bullet: level.Format.Val == "bullet" || level.Format.Val == "none", start: start, text: level.Text.Val})
		}
		abstract[a.ID] = l
	}
	d.lists = make(map[string]list, len(sheet.Numbers))
	for _, n := range sheet.Numbers {
		l := abstract[n.Abstract.Val]
		if len(n.Restarts) > 0 || l.counters == nil {
			l.counters = new([listLevels]int)
		}
		d.lists[n.ID] = l
	}
	return nil
}

// resolve looks a property up in a style and in the styles it is based on.
func (d *docx) resolve(id string, property func(style) string) string {
	const longest = 20 // longer chains are loops
	for range longest {
		s, ok := d.styles[id]
		if !ok {
			return ""
		}
		if v := property(s); v != "" {
			return v
		}
		id = s.parent
	}
	return ""
}

// render formats a paragraph as Markdown; "" if it has no text.
func (b *body) render(p *paragraph) string {
	text := strings.TrimSpace(p.text.String())
	if text == "" {
		return ""
	}
	or := func(own string, property func(style) string) string {
		if own != "" {
			return own
		}
		return b.resolve(p.style, property)
	}
	marker, indent := b.marker(or(p.numID, func(s style) string { return s.numID }), or(p.level, func(s style) string { return s.level }))
	outline, err := strconv.Atoi(or(p.outline, func(s style) string { return s.outline }))
	if err == nil && outline >= 0 && outline < listLevels {
		text = strings.Join(strings.Fields(text), " ")
		return strings.Repeat("#", min(outline+1, 6)) + " " + strings.TrimPrefix(marker, "- ") + text
	}
	return strings.Repeat("  ", indent) + marker + text
}

// marker advances the counter of a list item and returns its marker: "- ", "3. ", or "" outside lists.
func (b *body) marker(numID, level string) (marker string, indent int) {
	l, ok := b.lists[numID]
	n, err := strconv.Atoi(level)
	if err != nil && !errors.Is(err, strconv.ErrSyntax) || !ok {
		return "", 0
	}
	n = max(0, min(n, listLevels-1))
	if n >= len(l.levels) || l.levels[n].bullet {
		return "- ", n
	}
	if l.counters[n] == 0 {
		l.counters[n] = l.levels[n].start - 1
	}
	l.counters[n]++
	clear(l.counters[n+1:])
	marker = l.levels[n].text
	for i := range n + 1 {
		marker = strings.ReplaceAll(marker, "%"+strconv.Itoa(i+1), strconv.Itoa(max(l.counters[i], 1)))
	}
	if marker == "" {
		return "- ", n
	}
	return marker + " ", n
}
