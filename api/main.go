// Command api serves the HTTP API.
package main

import (
	"os"

	"longhaul/internal/app"
)

func main() { os.Exit(app.Main(app.RunAPI)) }
