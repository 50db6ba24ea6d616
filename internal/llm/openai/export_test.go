package openai

// Table is every profile, for the tests.
func Table() map[string]Profile { return profiles }
