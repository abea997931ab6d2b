// Package tuntest gives tests a network namespace in which TUN devices can be made, and tells what devices are left there. It is for
// Linux; elsewhere it is empty.
package tuntest
