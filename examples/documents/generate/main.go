// Command generate writes the example documents that are not plain text: a PDF and a Word file,
// made of the texts in this folder and nothing but the standard library. Run it in the folder above:
//
//	go run ./generate
//
// The same texts give the same bytes. Nothing of the product may depend on this program.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if err := os.WriteFile("lighthouse-keeping.pdf", pdf(lighthouse), 0o644); err != nil {
		return err
	}
	bridge, err := docx(inspection)
	if err != nil {
		return err
	}
	return os.WriteFile("bridge-inspection.docx", bridge, 0o644)
}
