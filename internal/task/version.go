package task

// Version is the version of this build, as shown by the API and the command line.
const Version = "0.1.0"
