package task

// Version is this build's, as the API and the command line tell it.
const Version = "0.1.0"
