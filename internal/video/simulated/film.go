package simulated

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the clips
	"encoding/binary"
	"fmt"
)

// ticks is the length of a clip in units of its time scale: clips/make.sh.
const ticks = 120_000_000

var (
	//go:embed clips/wide.mp4
	wide []byte
	//go:embed clips/tall.mp4
	tall []byte
	//go:embed clips/square.mp4
	square []byte
)

// shape returns the aspect and the clip of a film for which an aspect was asked; 16:9 if that cannot be read.
func shape(asked string) (aspect string, clip []byte) {
	var across, down int
	n, _ := fmt.Sscanf(asked, "%d:%d", &across, &down)
	switch {
	case n == 2 && across > 0 && across < down:
		return "9:16", tall
	case n == 2 && across > 0 && across == down:
		return "1:1", square
	}
	return "16:9", wide
}

// Film returns the film of a prompt: a clip that lasts 1 to 60 seconds. Its picture is always the same; a hash of the prompt and
// the seed at its end makes the file another for each.
func Film(prompt string, seed int64, seconds int, aspect string) []byte {
	_, clip := shape(aspect)
	film := bytes.Clone(clip)
	for _, header := range []string{"mvhd", "mdhd"} { // of the movie and of its track: name, version, two times, time scale
		at := bytes.Index(film, []byte(header)) + 16
		binary.BigEndian.PutUint32(film[at:], ticks/uint32(seconds))
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, prompt))
	film = binary.BigEndian.AppendUint32(film, uint32(8+len(hash)))
	return append(append(film, "free"...), hash[:]...) // players skip a box of this name
}
