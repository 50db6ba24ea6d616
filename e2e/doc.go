// Package e2e holds the end-to-end tests, the benchmarks and the recorder of histories. A test runs the real programs as
// processes against a Temporal server of its own and a scripted provider in the test process, which counts every call and so
// proves what a killed process paid for.
//
// There is no code here but tests, and nothing imports the package. A test waits for a condition and asserts no duration,
// because all tests run side by side on few cores.
package e2e
