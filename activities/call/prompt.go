package call

import (
	"fmt"
	"strings"
)

// quote marks where material begins and ends. A text that holds an end mark itself cannot end early.
func Quote(tag, name, text string) string {
	text = strings.ReplaceAll(text, "</"+tag+">", "< /"+tag+">")
	name = strings.NewReplacer(`"`, "'", "\n", " ", "\r", " ").Replace(name)
	return fmt.Sprintf("<%s name=%q>\n%s\n</%s>", tag, name, strings.TrimSpace(text), tag)
}
