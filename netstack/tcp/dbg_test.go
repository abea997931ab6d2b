package tcp
import ("testing";"time";"math/rand";"os";"strconv")
func TestDbg(t *testing.T){
 name:=os.Getenv("CFG"); if name=="" {t.Skip()}; seed,_:=strconv.Atoi(os.Getenv("SEED"))
 cfg:=pairConfigs()[name]
 p := newPair(t, 20*time.Millisecond, cfg, cfg); p.log=true
 p.open()
 rng := rand.New(rand.NewSource(int64(seed)))
 rate := float64(seed) / 100
 p.drop = func(*pairPacket) bool { return rng.Float64() < rate }
 const n = 300_000
 p.write(0, n); p.write(1, n/3); p.shutdown(0); p.run(300 * time.Second); p.shutdown(1); p.run(700 * time.Second)
}
