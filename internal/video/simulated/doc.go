// Package simulated is a provider of videos without a model: a server of the Ark dialect that draws a short film
// for each prompt, so that everything around a model can be run and shown on one machine without a key. It says
// that it is simulated: in the header x-longhaul-simulated and in the name of its model.
//
// A film is a real MP4 file: H.264 that every browser plays, with colours and a path of a disc that follow from
// the prompt and the seed, of the seconds and the aspect that were asked for. It is drawn anew for each download.
//
// Jobs are in memory alone and end with the process: what it does not know is a 404. It calls nobody, and is
// never used when a provider is configured.
package simulated
