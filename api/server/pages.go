package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"

	"github.com/gin-gonic/gin"
)

//go:embed ui
var ui embed.FS

// pagePolicy lets a page use what comes from here and nothing else: no script or style inside the page, no
// markup made from text, not even by mistake.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; " +
	"connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// screens are the addresses of the dashboard. One page serves them all and finds its way by the address, so
// that each can be kept as a bookmark. ui/routes.js has the same list.
var screens = []string{"/", "/new", "/new/:kind", "/tasks/:id", "/dead-letters", "/system"}

// pages puts up the description of the API and the pages for people. They hold no data: what they
// show they ask the API for, with the reader's key.
func (s *server) pages(spec []byte) {
	s.router.GET("/openapi.json", func(c *gin.Context) { c.Data(http.StatusOK, "application/openapi+json", spec) })
	for _, screen := range screens {
		s.router.GET(screen, page("index.html"))
	}
	s.router.GET("/docs", page("docs.html"))
	files, err := fs.Glob(ui, "ui/*")
	if err != nil {
		panic(err) // the pattern is part of the program
	}
	for _, file := range files {
		s.router.GET("/"+file, page(path.Base(file)))
	}
}

// pageTypes are the types of the files in ui.
var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// page answers with a file of ui. A browser keeps it, and asks each time whether it still holds.
func page(file string) gin.HandlerFunc {
	content, err := ui.ReadFile("ui/" + file)
	if err != nil {
		panic(err) // it is part of the program
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
	return func(c *gin.Context) {
		c.Header("Content-Type", pageTypes[path.Ext(file)])
		c.Header("Content-Security-Policy", pagePolicy)
		c.Header("Cache-Control", "no-cache")
		c.Header("Referrer-Policy", "no-referrer")
		c.Header("ETag", tag)
		http.ServeContent(c.Writer, c.Request, file, time.Time{}, bytes.NewReader(content))
	}
}
