package openai

import "slices"

// Table is every profile, for the tests.
func Table() map[string]Profile { return profiles }

// Deciding tells which rule of a profile decides on an error; -1 is none of them.
func Deciding(profile string, status int, body []byte) int {
	f := read(body)
	if status < 300 {
		status = f.status
	}
	return slices.IndexFunc(profiles[profile].Rules, func(r rule) bool { return r.fits(status, f) })
}

// Profile names the profile that a client has.
func (c *Client) Profile() string { return c.profile.Name }
