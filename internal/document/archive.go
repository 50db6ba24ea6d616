package document

import (
	"archive/zip"
	"errors"
	"io"
	"path"
	"strings"

	"longhaul/internal/task"
)

// What a zip archive may inflate to, in times the limit of the text it may hold: markup takes room.
const (
	partFactor  = 2 // one part
	partsFactor = 8 // all that are read
)

// errNoPart tells that an archive has no part of that name.
var errNoPart = errors.New("no such part")

// archive reads the parts of a zip file by name, and stops when they inflate to too much.
type archive struct {
	parts map[string]*zip.File
	limit int64 // of text, in bytes
	read  int64 // inflated so far
}

func openArchive(j *job) (*archive, error) {
	z, err := zip.NewReader(j.file, j.size)
	if err != nil {
		return nil, damaged("the archive it is made of cannot be opened", err)
	}
	a := &archive{parts: make(map[string]*zip.File, len(z.File)), limit: j.limit}
	for _, f := range z.File {
		a.parts[partName(f.Name)] = f
	}
	return a, nil
}

// partName is a name without the ways in which writers spell it.
func partName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
}

func damaged(what string, cause error) error {
	return task.Errorf(task.DocumentBroken, "%s; send it again, or save it anew with another program", what).Because(cause)
}

// part inflates one part.
func (a *archive) part(name string) ([]byte, error) {
	f := a.parts[partName(name)]
	if f == nil {
		return nil, errNoPart
	}
	in, err := f.Open()
	if err != nil {
		return nil, damaged("a part of it cannot be opened", err)
	}
	defer in.Close()
	largest, together := partFactor*a.limit, partsFactor*a.limit
	data, err := io.ReadAll(io.LimitReader(in, largest+1))
	a.read += int64(len(data))
	switch {
	case int64(len(data)) > largest:
		return nil, task.Errorf(task.DocumentTooComplex, "a part of it inflates to more than %s; split it", size(largest))
	case a.read > together:
		return nil, task.Errorf(task.DocumentTooComplex, "its parts inflate to more than %s; split it", size(together))
	case err != nil:
		return nil, damaged("a part of it cannot be inflated", err)
	}
	return data, nil
}

// holds reports whether there is a part in a folder.
func (a *archive) holds(folder string) bool {
	for name := range a.parts {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}
