// Package lifecycle is what workflows of all kinds share: begin, progress, pause, cancel, deadline, budget, end,
// notification, fan-out, continue-as-new and the options of activities. It knows no kind.
package lifecycle
