// konn-packets reads and writes packets with Konnectivity's own protobuf code. It answers a line of
// hexadecimal digits with the packet as JSON, its bytes encoded again, and its unknown fields. It answers a
// line of JSON with the bytes of that packet, and invalid input with an error.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/apiserver-network-proxy/konnectivity-client/proto/client"
)

type answer struct {
	Packet  json.RawMessage `json:"packet,omitempty"`
	Hex     string          `json:"hex"`
	Unknown string          `json:"unknown,omitempty"`
	Error   string          `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		said, err := answerTo(lines.Text())
		if err != nil {
			said = answer{Error: err.Error()}
		}
		if err := encoder.Encode(said); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func answerTo(line string) (answer, error) {
	packet := &client.Packet{}
	if strings.HasPrefix(line, "{") {
		if err := protojson.Unmarshal([]byte(line), packet); err != nil {
			return answer{}, err
		}
	} else if bytes, err := hex.DecodeString(line); err != nil {
		return answer{}, err
	} else if err := proto.Unmarshal(bytes, packet); err != nil {
		return answer{}, err
	}
	text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(packet)
	if err != nil {
		return answer{}, err
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(packet)
	if err != nil {
		return answer{}, err
	}
	unknown := hex.EncodeToString(packet.ProtoReflect().GetUnknown())
	return answer{Packet: text, Hex: hex.EncodeToString(bytes), Unknown: unknown}, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "konn-packets:", err)
	os.Exit(1)
}
