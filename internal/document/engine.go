package document

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// engineMemoryPages limits the memory of the PDF engine in WebAssembly pages of 64 KiB: 512 MiB.
const engineMemoryPages = 8192

// pdfEngine is PDFium in WebAssembly, compiled on first use, without access to the file system.
type pdfEngine struct {
	cacheDir string
	pool     pdfium.Pool // nil until first use
}

// instance returns a fresh engine for one document.
func (e *pdfEngine) instance() (pdfium.Pdfium, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	lib, err := e.pool.GetInstanceWithContext(context.Background())
	if err != nil {
		return nil, fmt.Errorf("start the PDF engine: %w", err)
	}
	return lib, nil
}

// ready compiles the engine, or loads it from the cache of an earlier process.
func (e *pdfEngine) ready() error {
	if e.pool != nil {
		return nil
	}
	cache, unlock := openCache(e.cacheDir)
	defer unlock()
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(engineMemoryPages).
		WithCompilationCache(cache)
	pool, err := webassembly.Init(webassembly.Config{
		MaxTotal: 1, FSConfig: wazero.NewFSConfig(), RuntimeConfig: config, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return fmt.Errorf("compile the PDF engine: %w", err)
	}
	e.pool = pool
	return nil
}

// openCache opens the compilation cache in a folder under a lock, held until unlock is called, so that one process
// compiles and the others load. An unusable folder gives a cache in memory.
func openCache(dir string) (cache wazero.CompilationCache, unlock func()) {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return wazero.NewCompilationCache(), func() {}
	}
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return wazero.NewCompilationCache(), func() {}
	}
	lockFile(file) // without the lock two processes may compile, which only costs time
	cache, err = wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		cache = wazero.NewCompilationCache()
	}
	return cache, func() { _ = file.Close() }
}
