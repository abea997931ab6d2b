package objectstore

import (
	"strings"
	"testing"

	"tcpwheel/pcaps/corpus"
)

func TestCredentials(t *testing.T) {
	o := corpus.Options{Stores: Stores(), Env: func(name string) string {
		return map[string]string{"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}[name]
	}}
	for input, want := range map[string]string{
		"s3://bucket/x": "s3://bucket/x: no credentials: set AWS_ACCESS_KEY_ID",
		"gs://bucket/x": "gs://bucket/x: no credentials: set GS_ACCESS_KEY_ID",
		"azblob://c/x":  "azblob://c/x: no account: set AZURE_STORAGE_ACCOUNT",
		"s3:///x":       "s3:///x: no bucket, want s3://BUCKET/KEY",
		"hdfs://host/x": `unknown scheme "hdfs", want one of azblob, file, gs, s3`,
	} {
		if _, err := corpus.List(t.Context(), []string{input}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", input, err, want)
		}
	}
}
