// Package video is the port to providers that render videos: what a job is, how it stands, and what
// a failed call means for the next attempt.
//
// wire speaks the dialects of the providers; simulated is a provider of our own that draws short
// videos without a model; videotest is a scripted provider for tests. A job is paid for when it is
// started, so nothing here starts one twice: Start is one request, and whoever calls it reconciles
// with Find when the answer is lost. Nothing here waits, polls or keeps a video; an address that a
// provider gives is read from at once and shown to nobody.
package video
