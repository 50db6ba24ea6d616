// Package agent is the workflow of the kind agent: turn by turn the model says what to do, tools do it, and a person
// approves where one must.
package agent
