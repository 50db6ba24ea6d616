package llm

// EmbedLimits is what one call for embeddings may hold. Zeros are no limit.
type EmbedLimits struct {
	Inputs int // texts
	Tokens int // of all texts together
}
