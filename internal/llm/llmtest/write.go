package llmtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"time"

	"longhaul/internal/fakeserver"
)

// write sends a reply up to its end, counts the bytes of its parts that were written, and gives errGone if
// the client did not wait for it.
func (r Reply) write(w http.ResponseWriter, req *http.Request) (status, written int, err error) {
	status = r.Status
	if status == 0 {
		status = http.StatusOK
	}
	if !fakeserver.Pause(req, r.Delay) {
		return 0, 0, errGone
	}
	w.Header().Set("Content-Type", "text/event-stream")
	maps.Copy(w.Header(), r.Header)
	if r.End == Close {
		w.Header().Set("Transfer-Encoding", "identity") // no chunks: the body ends with the connection
	}
	w.WriteHeader(status)
	flush := http.NewResponseController(w).Flush
	whole := r.End == Finish && len(r.Parts) == 1 && !r.Bytewise // sent in one piece, with its length
	for i, part := range r.Parts {
		if i > 0 && !fakeserver.Pause(req, r.Gap) {
			return status, written, errGone
		}
		for _, piece := range r.pieces(part) {
			if _, err := w.Write(piece); err != nil {
				return status, written, errGone
			}
			if !whole && flush() != nil {
				return status, written, errGone
			}
			written += len(piece)
		}
	}
	return status, written, r.linger(w, req)
}

// told is the last usage in the bytes that were written; zero when there is none.
func (r Reply) told(written int) Usage {
	const name = `"usage":`
	body := bytes.Join(r.Parts, nil)[:written]
	for at := bytes.LastIndex(body, []byte(name)); at >= 0; at = bytes.LastIndex(body[:at], []byte(name)) {
		var u struct {
			Prompt     float64 `json:"prompt_tokens"`
			Completion float64 `json:"completion_tokens"`
			Details    struct {
				Cached float64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
		if json.NewDecoder(bytes.NewReader(body[at+len(name):])).Decode(&u) == nil && u.Prompt+u.Completion > 0 {
			return Usage{Input: int(u.Prompt), Output: int(u.Completion), Cached: int(u.Details.Cached)}
		}
	}
	return Usage{}
}

// pieces are what is flushed one by one.
func (r Reply) pieces(part []byte) [][]byte {
	if !r.Bytewise {
		return [][]byte{part}
	}
	pieces := make([][]byte, len(part))
	for i := range part {
		pieces[i] = part[i : i+1]
	}
	return pieces
}

// linger is the end of a reply that does not end by itself.
func (r Reply) linger(w http.ResponseWriter, req *http.Request) error {
	flush := http.NewResponseController(w).Flush
	switch r.End {
	case Silence:
		_ = flush() // the status line at least is sent
		<-req.Context().Done()
		return errGone
	case Ping:
		gap := r.Gap
		if gap == 0 {
			gap = 20 * time.Millisecond
		}
		for fakeserver.Pause(req, gap) {
			if _, err := w.Write([]byte(": ping\n\n")); err != nil || flush() != nil {
				break
			}
		}
		return errGone
	}
	return nil
}

// leave closes the connection for the ends that do.
func (r Reply) leave(w http.ResponseWriter) {
	switch r.End {
	case Cut:
		panic(http.ErrAbortHandler) // net/http closes the connection without ending the body
	case Reset:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_ = conn.(*net.TCPConn).SetLinger(0) // close sends a reset
		_ = conn.Close()
	}
}
