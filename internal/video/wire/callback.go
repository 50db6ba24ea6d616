package wire

import "encoding/json"

// maxCallback is the largest body of a callback that is read.
const maxCallback = 1 << 20

// CallbackID reads the id of a job from the body of a callback. Anybody may send one, late, twice or made up:
// it is a hint that Status is worth asking now, and nothing else in it is to be believed.
func CallbackID(body []byte) (id string, ok bool) {
	if len(body) > maxCallback || !json.Valid(body) {
		return "", false
	}
	if id = first(parse(body), idPlaces); id == "" || len(id) > 200 {
		return "", false
	}
	return id, true
}
