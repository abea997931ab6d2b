// Package objectstore reads and writes object stores for package corpus: S3 and servers with its
// interface, Google Cloud Storage, and Azure Blob Storage. docs/corpora.md says where credentials
// come from.
package objectstore

import "tcpwheel/pcaps/corpus"

// Stores opens each kind of store, by the scheme of a URL.
func Stores() map[string]corpus.OpenStore {
	return map[string]corpus.OpenStore{"s3": openS3, "gs": openGS, "azblob": openAzure}
}
