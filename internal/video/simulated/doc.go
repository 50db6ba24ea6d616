// Package simulated is a provider of videos without a model: a server of the Ark dialect that sends a sample film for each
// prompt, so that everything around a model can be run and shown on one machine without a key. It says that it is
// simulated: in the header x-longhaul-simulated and in the name of its model.
//
// A film is an MP4 file that every browser plays, of the length that was asked for, in the nearest of three aspects
// (clips/make.sh). The same prompt and seed give the same bytes.
//
// Jobs are in memory alone and end with the process: a job it does not know is a 404. It calls no other service, and is
// never used when a provider is configured.
package simulated
