package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"longhaul/internal/task"
)

// maxName is the length of the longest file name, in characters.
const maxName = 255

type uploadRequest struct {
	raw
	Name string `query:"name" doc:"the file's name; needed when the body is the file itself"`
}

type fileAnswer struct {
	Location string `header:"Location"`
	Body     task.File
}

func (s *server) upload(ctx context.Context, in *uploadRequest) (*fileAnswer, error) {
	const formOverhead = 64 << 10
	if in.request.ContentLength > s.Limits.MaxUpload+formOverhead {
		return nil, task.Errorf(task.TooLarge, "the file is larger than %d bytes, the limit of one upload", s.Limits.MaxUpload)
	}
	body := newIntake(in.writer, in.request)
	defer body.done()
	up, err := openUpload(in, io.LimitReader(body, s.Limits.MaxUpload+formOverhead))
	if err != nil {
		return nil, err
	}
	file, err := s.Files.Save(ctx, tenant(ctx), up.name, up.contentType, up.content, s.Limits.MaxUpload)
	if err != nil {
		return nil, err
	}
	return &fileAnswer{Location: "/v1/files/" + file.ID, Body: file}, nil
}

// incoming is a file that is being received.
type incoming struct {
	name, contentType string
	content           io.Reader
}

func openUpload(in *uploadRequest, body io.Reader) (incoming, error) {
	media, params, err := mime.ParseMediaType(in.request.Header.Get("Content-Type"))
	up := incoming{name: in.Name, contentType: media, content: body}
	switch {
	case err != nil && in.Name == "":
		return up, task.Errorf(task.WrongMedia, "send the file as the part \"file\" of multipart/form-data, or as the whole body with ?name=")
	case media == "multipart/form-data":
		if up, err = openPart(multipart.NewReader(body, params["boundary"])); err != nil {
			return up, err
		}
		if in.Name != "" {
			up.name = in.Name
		}
	case in.Name == "":
		return up, unfit("name", "is required when the body is the file itself")
	}
	if up.name == "" {
		up.name = "upload"
	}
	if up.contentType == "" {
		up.contentType = "application/octet-stream"
	}
	return up, checkName(up.name)
}

// openPart finds the file in a form, which must hold nothing else.
func openPart(form *multipart.Reader) (incoming, error) {
	part, err := form.NextRawPart()
	if err != nil {
		return incoming{}, badForm(err)
	}
	_, params, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if params["name"] != "file" {
		return incoming{}, task.Errorf(task.Invalid, "the form must have one part, named \"file\"")
	}
	contentType, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
	// The name as the client gave it, without the escapes that browsers put into forms.
	name := strings.NewReplacer("%22", `"`, "%0D", "\r", "%0A", "\n").Replace(params["filename"])
	return incoming{name: name, contentType: contentType, content: &lastPart{part: part, form: form}}, nil
}

// lastPart reads a part and, at its end, makes sure that the form ends there too. So a form that
// breaks off behind the file, or holds a second one, is refused before anything is kept.
type lastPart struct {
	part *multipart.Part
	form *multipart.Reader
}

// Read reads some of the part.
func (l *lastPart) Read(p []byte) (int, error) {
	n, err := l.part.Read(p)
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, badForm(err)
	}
	switch _, err := l.form.NextRawPart(); {
	case errors.Is(err, io.EOF):
		return n, io.EOF
	case err == nil:
		return n, task.Errorf(task.Invalid, "the form must have one part; send one file a request")
	default:
		return n, badForm(err)
	}
}

// badForm tells a body that broke off or came too slowly from one that is no form.
func badForm(err error) error {
	if ours, ok := errors.AsType[*task.Error](err); ok {
		return ours
	}
	return task.Errorf(task.BadRequest, "the body is not a whole multipart/form-data form; nothing was kept").Because(err)
}

func checkName(name string) error {
	switch {
	case !utf8.ValidString(name):
		return unfit("name", "must be UTF-8")
	case utf8.RuneCountInString(name) > maxName:
		return unfit("name", "has %d characters, and at most %d are allowed", utf8.RuneCountInString(name), maxName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return unfit("name", "must not contain control characters")
	}
	return nil
}

type filePath struct {
	ID string `path:"id" doc:"the file's id"`
}

func (s *server) file(ctx context.Context, in *filePath) (*fileAnswer, error) {
	file, err := s.Files.Stat(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &fileAnswer{Body: file}, nil
}

func (s *server) fileContent(ctx context.Context, in *filePath) (*stream, error) {
	file, err := s.Files.Stat(ctx, tenant(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	object, err := s.Files.Open(ctx, tenant(ctx), in.ID)
	return download(object, err, file.Name, file.ContentType, file.SHA256)
}

type nothing struct{ Status int }

func (s *server) deleteFile(ctx context.Context, in *filePath) (*nothing, error) {
	if err := s.Files.Delete(ctx, tenant(ctx), in.ID); err != nil {
		return nil, err
	}
	return &nothing{Status: http.StatusNoContent}, nil
}
