// Package video is the workflow of the kind video: each prompt is submitted, its job watched and its video downloaded.
package video
