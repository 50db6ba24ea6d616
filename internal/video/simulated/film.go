package simulated

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// rate is frames a second; there is a key frame each second, so that a player can jump there.
const rate = 24

// shorter are the pixels of the shorter side, by the resolution asked for. They are few: it is a sketch.
var shorter = map[string]int{"480p": 160, "720p": 192, "1080p": 256}

// Size is how large a film is. The aspect is met to half a block; one that is none, or beyond 1:4, is 16:9.
func Size(resolution, aspect string) (width, height int) {
	short, ok := shorter[resolution]
	if !ok {
		short = shorter["720p"]
	}
	var across, down int
	n, _ := fmt.Sscanf(aspect, "%d:%d", &across, &down)
	if n != 2 || across <= 0 || down <= 0 || across > 4*down || down > 4*across {
		across, down = 16, 9
	}
	long := short * max(across, down) / min(across, down)
	long = (long + block/2) / block * block
	if across >= down {
		return long, short
	}
	return short, long
}

// Film draws the film of a prompt: the same for the same prompt and seed, byte by byte.
func Film(prompt string, seed int64, seconds, width, height int) []byte {
	s := newScene(prompt, seed, width, height)
	t := track{width: width, height: height, rate: rate, stream: streamUnit(width, height), frame: frameUnit()}
	var before picture
	for n := range seconds * rate {
		now := s.draw(n, seconds*rate)
		if n%rate == 0 {
			t.keys = append(t.keys, uint32(n+1))
			t.frames = append(t.frames, keyUnit(now, n/rate%2 == 1))
		} else {
			t.frames = append(t.frames, betweenUnit(before, now, n%rate))
		}
		before = now
	}
	return t.file()
}

// scene is what a film shows: a disc that wanders over a slope of two colours, and a bar that grows below.
type scene struct {
	ground       picture
	colour       [3]byte
	speed, phase [2]float64
}

func newScene(prompt string, seed int64, width, height int) scene {
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, prompt))
	s := scene{ground: newPicture(width, height), colour: [3]byte{225, hash[6], hash[7]}}
	for i := range 2 {
		s.speed[i] = 0.5 + float64(hash[8+i])/256
		s.phase[i] = float64(binary.BigEndian.Uint16(hash[10+2*i:])) / math.MaxUint16
	}
	for y := range height {
		for x := range width {
			share := float64(x+y) / float64(width+height)
			s.ground.set(x, y, mix(hash[0:3], hash[3:6], share))
		}
	}
	return s
}

// mix gives a colour between two. It keeps brightness low and within what may be shown, so that the disc stands out.
func mix(a, b []byte, share float64) [3]byte {
	var out [3]byte
	for i := range out {
		out[i] = byte(float64(a[i])*(1-share) + float64(b[i])*share)
	}
	out[0] = 40 + out[0]/3
	return out
}

// set colours a pixel. Colours stay within what may be shown.
func (p picture) set(x, y int, colour [3]byte) {
	p.y[y*p.width+x] = min(max(colour[0], 16), 235)
	at := y/2*(p.width/2) + x/2
	p.cb[at], p.cr[at] = min(max(colour[1], 16), 240), min(max(colour[2], 16), 240)
}

// draw gives the n-th of so many frames.
func (s scene) draw(n, of int) picture {
	p := s.ground.clone()
	radius := min(p.width, p.height) / 6
	second := float64(n) / rate
	cx := radius + int(bounce(s.phase[0]+s.speed[0]*second/3)*float64(p.width-2*radius-1))
	cy := radius + int(bounce(s.phase[1]+s.speed[1]*second/3)*float64(p.height-2*radius-1))
	for y := cy - radius; y <= cy+radius; y++ {
		for x := cx - radius; x <= cx+radius; x++ {
			if (x-cx)*(x-cx)+(y-cy)*(y-cy) <= radius*radius {
				p.set(x, y, s.colour)
			}
		}
	}
	for y := p.height - 4; y < p.height; y++ {
		for x := range (n + 1) * p.width / of {
			p.set(x, y, [3]byte{235, 128, 128})
		}
	}
	return p
}

// bounce goes from 0 to 1 and back while t goes by 2.
func bounce(t float64) float64 {
	_, part := math.Modf(t / 2)
	return 1 - math.Abs(2*part-1)
}
