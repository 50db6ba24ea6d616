// Command worker runs workflows and activities: the steps of tasks, model calls and the reading of documents.
package main

import (
	"os"

	"longhaul/internal/app"
)

func main() { os.Exit(app.Main(app.RunWorker)) }
