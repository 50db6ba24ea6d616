package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Window is a window of a browser, with a storage of its own, that shows one server. Its methods fail the test.
type Window struct {
	T   *testing.T
	Ctx context.Context
	URL string // of the server

	mu   sync.Mutex
	asks []string // addresses it asked for
	said []string // errors and warnings on its console, policy violations among them
}

// Open opens a window that has not shown anything yet, for some minutes at the most. When the test ends, it must
// have had nothing to complain about and have asked nobody but the server.
func Open(t *testing.T, browser context.Context, url string, within time.Duration) *Window {
	t.Helper()
	w := &Window{T: t, URL: url}
	ctx, closeWindow := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(w.hear))
	t.Cleanup(closeWindow)
	ctx, cancel := context.WithTimeout(ctx, within)
	t.Cleanup(cancel)
	w.Ctx = ctx
	w.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		return err
	}))
	t.Cleanup(w.check)
	return w
}

// hear is called with everything that happens in the window.
func (w *Window) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.asks = append(w.asks, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			w.said = append(w.said, e.Entry.Text+" "+e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		w.said = append(w.said, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		w.said = append(w.said, "console."+string(e.Type))
	}
}

func (w *Window) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.T, w.said, "the console of the window")
	require.NotEmpty(w.T, w.asks)
	for _, address := range w.asks {
		require.True(w.T, strings.HasPrefix(address, w.URL+"/") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:"+w.URL), "%s is not ours", address)
	}
}

// Asked are the addresses that it has asked for.
func (w *Window) Asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asks)
}

// Forgive takes from the console what contains a text, and fails if nothing does.
func (w *Window) Forgive(text string) {
	w.T.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var rest []string
	for _, line := range w.said {
		if !strings.Contains(line, text) {
			rest = append(rest, line)
		}
	}
	require.NotEqual(w.T, len(rest), len(w.said), "%q is not on the console: %v", text, w.said)
	w.said = rest
}

// Do takes steps in the window.
func (w *Window) Do(steps ...chromedp.Action[chromedp.Void]) {
	w.T.Helper()
	require.NoError(w.T, chromedp.Do(w.Ctx, steps...))
}

// Visit goes to a page of the server.
func (w *Window) Visit(path string) {
	w.T.Helper()
	w.Do(chromedp.Navigate(w.URL + path))
}

// Eval gives the value of an expression in the page, or what it promises.
func Eval[T any](w *Window, expression string) T {
	w.T.Helper()
	value, err := chromedp.Run(w.Ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(w.T, err, expression)
	return value
}

// Until waits for a condition in the page for half a minute, and shows the page if it does not come. One that
// throws, as an element is not there yet, is not met.
func (w *Window) Until(condition string) { w.UntilWithin(30*time.Second, condition) }

// UntilWithin is Until with a patience of its own.
func (w *Window) UntilWithin(patience time.Duration, condition string) {
	w.T.Helper()
	met := "(() => { try { return !!(" + condition + ") } catch { return false } })()"
	_, err := chromedp.Run(w.Ctx, chromedp.Poll[bool](met, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		require.NoError(w.T, err, "%s\n%s", condition, Eval[string](w, "document.body.innerText"))
	}
}

// Text gives what a reader sees of an element.
func (w *Window) Text(selector string) string {
	w.T.Helper()
	return Eval[string](w, "document.querySelector(`"+selector+"`).innerText")
}

// Click clicks on the first element of a selector, when there is one.
func (w *Window) Click(selector string) {
	w.T.Helper()
	w.Until("document.querySelector(`" + selector + "`)")
	w.Do(chromedp.Evaluate[chromedp.Void]("document.querySelector(`" + selector + "`).click(); undefined"))
}

// Fill types into a field as a person does.
func (w *Window) Fill(selector, text string) {
	w.T.Helper()
	w.Until("document.querySelector(`" + selector + "`)")
	quoted, err := json.Marshal(text)
	require.NoError(w.T, err)
	w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("{const f = document.querySelector(`%s`); f.value = %s; f.dispatchEvent(new Event('input', {bubbles: true})); f.dispatchEvent(new Event('change', {bubbles: true}))}; undefined", selector, quoted)))
}

// Drop drops a file on the first element of a selector.
func (w *Window) Drop(selector, name, content string) {
	w.T.Helper()
	w.Until("document.querySelector(`" + selector + "`)")
	quoted, err := json.Marshal([]string{content, name})
	require.NoError(w.T, err)
	w.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf("{const [content, name] = %s; const data = new DataTransfer(); data.items.add(new File([content], name)); document.querySelector(`%s`).dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}))}; undefined", quoted, selector)))
}
