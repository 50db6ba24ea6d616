package server

import (
	"embed"
	"net/http"
	"path"

	"github.com/gin-gonic/gin"
)

//go:embed ui
var ui embed.FS

// pagePolicy lets a page use what comes from here and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pages puts up the description of the API and the pages for people. They hold no data: what they
// show they ask the API for, with the reader's key.
func (s *server) pages(spec []byte) {
	s.router.GET("/openapi.json", func(c *gin.Context) { c.Data(http.StatusOK, "application/openapi+json", spec) })
	for route, file := range map[string]string{
		"/": "home.html", "/docs": "docs.html", "/ui/home.js": "home.js", "/ui/docs.js": "docs.js", "/ui/page.js": "page.js", "/ui/style.css": "style.css",
	} {
		s.router.GET(route, page(file))
	}
}

func page(file string) gin.HandlerFunc {
	types := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	return func(c *gin.Context) {
		content, err := ui.ReadFile("ui/" + file)
		if err != nil {
			panic(err) // it is part of the program
		}
		c.Header("Content-Security-Policy", pagePolicy)
		c.Header("Cache-Control", "no-cache")
		c.Header("Referrer-Policy", "no-referrer")
		c.Data(http.StatusOK, types[path.Ext(file)], content)
	}
}
