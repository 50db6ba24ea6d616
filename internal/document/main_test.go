package document

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary is its own extraction child, like every main of the product, with additional formats that misbehave
// on purpose.
func TestMain(m *testing.M) {
	formats := readers()
	formats["test/pid"] = func(*job) (Text, error) { return Text{Markdown: fmt.Sprint(os.Getpid())}, nil }
	formats["test/environment"] = func(*job) (Text, error) { return Text{Markdown: fmt.Sprint(os.Environ())}, nil }
	formats["test/panic"] = func(*job) (Text, error) { panic("a parser's mistake") }
	formats["test/fatal"] = fatal
	formats["test/spin"] = spin
	formats["test/memory"] = eatMemory
	formats["test/once"] = dieOnce
	serveIfChild(func(j *job) error {
		if strings.HasPrefix(j.ContentType, "test/") {
			j.format = j.ContentType
			return nil
		}
		return identify(j)
	}, formats)
	if path := os.Getenv(spinningVariable); path != "" {
		spinForEver(path)
	}
	os.Exit(m.Run())
}

// spinningVariable makes the test binary a parent whose child never finishes; its value is a file to read.
const spinningVariable = "LONGHAUL_TEST_SPINNING"

// spinForEver extracts a document without end and prints the pid of its child once the child works.
func spinForEver(path string) {
	e := NewExtractor(Options{Workers: 1})
	_, err := e.Extract(context.Background(), Input{Path: path, ContentType: "test/spin"}, func(int, int) {
		for c := range e.live {
			fmt.Println(c.cmd.Process.Pid)
		}
	})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// spinningParent starts such a parent and returns the pid of its child.
func spinningParent(t *testing.T) (child string, parent *os.Process) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	parent, err = os.StartProcess(self, []string{self}, &os.ProcAttr{
		Env: []string{spinningVariable + "=" + file(t, "d", []byte("x"))}, Files: []*os.File{nil, in, os.Stderr},
	})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	_, err = fmt.Fscan(out, &child)
	require.NoError(t, err)
	return child, parent
}

// spin never returns. Its progress reports that it has started.
func spin(j *job) (Text, error) {
	j.progress(1, 2)
	for i := uint64(1); ; i++ {
		if i == 0 {
			return Text{}, nil
		}
	}
}

func eatMemory(*job) (Text, error) {
	var held [][]byte
	for {
		page := make([]byte, 8<<20)
		for i := range page {
			page[i] = byte(i)
		}
		held = append(held, page)
		if len(held) > 1<<20 {
			return Text{}, nil
		}
	}
}

// fatal triggers a fatal error, which recover cannot catch.
func fatal(*job) (Text, error) {
	new(sync.Mutex).Unlock()
	return Text{}, nil
}

// dieOnce kills its process on the first read of a document, as the kernel might.
func dieOnce(j *job) (Text, error) {
	mark := j.Path + ".seen"
	if _, err := os.Stat(mark); err == nil {
		return Text{Markdown: "alive"}, nil
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return Text{}, err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return Text{}, err
	}
	if err := self.Kill(); err != nil {
		return Text{}, err
	}
	select {}
}

// newExtractor returns an Extractor that is closed after the test.
func newExtractor(t testing.TB, options Options) *Extractor {
	t.Helper()
	e := NewExtractor(options)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// file writes a document for a test and returns its path.
func file(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// extract reads data in this process: readers are tested without children.
func extract(t testing.TB, in Input, data []byte) (Text, error) {
	t.Helper()
	in.Path = file(t, "document", data)
	s := server{identify: identify, readers: readers(), settings: settings{TextBytes: 1 << 20}, lastProgress: time.Now().Add(time.Hour)}
	return s.read(in)
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
