package call

import (
	"fmt"
	"strings"
)

// Quote marks where material begins and ends. A text that contains an end mark cannot end early.
func Quote(tag, name, text string) string {
	text = strings.ReplaceAll(text, "</"+tag+">", "< /"+tag+">")
	name = strings.NewReplacer(`"`, "'", "\n", " ", "\r", " ").Replace(name)
	return fmt.Sprintf("<%s name=%q>\n%s\n</%s>", tag, name, strings.TrimSpace(text), tag)
}
