// Package qa is the workflow of the kind qa: it reads documents, gets vectors for their passages and answers questions.
package qa
