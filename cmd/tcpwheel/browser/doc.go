// Package browser tests the pages of the command in a browser: chromium, without a window. It is a
// module of its own, so that the command does not need what drives a browser. Without chromium its
// tests skip. TCPWHEEL_SCREENSHOTS names a folder for pictures, TCPWHEEL_DARK asks for the dark
// theme, and TCPWHEEL_LARGE names a capture to be read and timed.
package browser
