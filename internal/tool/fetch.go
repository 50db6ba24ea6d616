package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"longhaul/internal/document"
	"longhaul/internal/task"
)

// fetch gets the text of a page or a document. It only reads, so what went wrong is always told to the model; an error
// is a fault on our side.
func (k *Kit) fetch(ctx context.Context, call Call) (Result, error) {
	var args FetchArguments
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return Result{}, failed("The arguments of fetch cannot be read.")
	}
	if k.options.Fetcher == nil {
		return Result{}, failed("Nothing can be fetched here.")
	}
	text, err := k.document(ctx, args.URL)
	if e, ok := errors.AsType[*task.Error](err); ok {
		return Result{}, failed("%s: %s.%s", e.Title, e.Detail, hope(e))
	}
	if err != nil {
		return Result{}, err
	}
	piece, cut := window(text.Markdown, args.Offset, args.Limit)
	return Result{Text: piece, ContentType: "text/markdown", Truncated: cut}, nil
}

func hope(e *task.Error) string {
	if e.Retryable {
		return " It may work later."
	}
	return ""
}

// document fetches and reads one.
func (k *Kit) document(ctx context.Context, address string) (document.Text, error) {
	return k.read(ctx, func(w io.Writer) (document.Input, error) {
		got, err := k.options.Fetcher.Fetch(ctx, address, w)
		return document.Input{Name: got.Name, ContentType: got.ContentType}, err
	})
}

// window is a piece of a text, in characters; no limit means as much as a result may have. A piece before the end says
// where to go on.
func window(text string, offset, limit int) (piece string, cut bool) {
	total, from := utf8.RuneCountInString(text), runes(text, offset)
	if from == len(text) && offset > 0 {
		return fmt.Sprintf("[The text has %d characters, and none from %d on.]", total, offset), false
	}
	piece = text[from:]
	if limit > 0 {
		piece = piece[:runes(piece, limit)]
	}
	const note = 200 // bytes, with room to spare
	piece = clip(piece, maxText-note)
	next := offset + utf8.RuneCountInString(piece)
	if next >= total {
		return piece, false
	}
	return fmt.Sprintf("%s\n\n[Characters %d to %d of %d; go on with offset %d.]", piece, offset, next, total, next), true
}

// runes is where a text's first n characters end, in bytes.
func runes(text string, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
