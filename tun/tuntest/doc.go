// Package tuntest gives tests a network namespace in which TUN devices can be made, tells what devices are left there, and how busy the
// machine is meanwhile. The former two are for Linux.
package tuntest
