package document

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"strings"

	"longhaul/internal/task"
)

// Limits of the inflated size of a zip archive, as multiples of the text limit, because markup is larger than its
// text.
const (
	partFactor  = 2 // one part
	partsFactor = 8 // all parts that are read, together
)

// errNoPart means that an archive has no part of the requested name.
var errNoPart = errors.New("no such part")

// archive reads the parts of a zip file by name and limits how far they inflate.
type archive struct {
	parts map[string]*zip.File
	limit int64 // text limit, in bytes
	read  int64 // bytes inflated so far
}

func openArchive(j *job) (*archive, error) {
	z, err := zip.NewReader(j.file, j.size)
	if err != nil {
		return nil, damaged("the zip archive inside the file cannot be opened", err)
	}
	a := &archive{parts: make(map[string]*zip.File, len(z.File)), limit: j.limit}
	for _, f := range z.File {
		a.parts[partName(f.Name)] = f
	}
	return a, nil
}

// partName normalizes the spellings that writers use for a part's name.
func partName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

func damaged(detail string, cause error) error {
	return task.Errorf(task.DocumentBroken, "%s; upload it again, or save it again with another program", detail).Because(cause)
}

// part returns the inflated content of one part.
func (a *archive) part(name string) ([]byte, error) {
	f := a.parts[partName(name)]
	if f == nil {
		return nil, errNoPart
	}
	in, err := f.Open()
	if err != nil {
		return nil, damaged("a part of the archive cannot be opened", err)
	}
	defer in.Close()
	largest, together := partFactor*a.limit, partsFactor*a.limit
	data, err := io.ReadAll(io.LimitReader(in, largest+1))
	a.read += int64(len(data))
	switch {
	case int64(len(data)) > largest:
		return nil, task.Errorf(task.DocumentTooComplex, "a part of the archive inflates to more than the limit of %s; split the document", size(largest))
	case a.read > together:
		return nil, task.Errorf(task.DocumentTooComplex, "the parts of the archive inflate to more than the limit of %s; split the document", size(together))
	case err != nil:
		return nil, damaged("a part of the archive cannot be inflated", err)
	}
	return data, nil
}

// holds reports whether a folder of the archive contains a part.
func (a *archive) holds(folder string) bool {
	for name := range a.parts {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}
