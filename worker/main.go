// Command worker runs the workers: they decide what tasks do next, call models and read documents.
package main

import (
	"os"

	"longhaul/internal/app"
)

func main() { os.Exit(app.Main(app.RunWorker)) }
