import Foundation

/// The command-line options.
struct Options: Sendable {
    enum Proof: String, Sendable, CaseIterable {
        case traffic
        case exit
        case slowReader = "slow-reader"
        case concurrent
        case large
        case killedDownload = "killed-download"
        case killedUpload = "killed-upload"
        case hostileCookies = "hostile-cookies"
        case cacheFlow = "cache-flow"
        case webSockets = "websockets"
    }

    static let usage = """
        usage: soak [PROOF] [options], PROOF being one of
               traffic, exit, slow-reader, concurrent, large, killed-download, killed-upload,
               hostile-cookies, cache-flow, websockets

        Loads from a loopback server of its own and fails when anything hangs, ends twice or is left behind.
        Without a proof's name all are done.

          traffic       requests of every form, disturbed at random
            --count N     how many (100000)
            --seed N      repeats a run (random)
            --window N    how many at a time (128)
          exit          ends the process while 200 tasks run
            --times N     how often (50)
          slow-reader   a body that is read more slowly than it could come; memory stays flat
            --size N      megabytes of each body (96)
            --rate N      megabytes a second (32); `--size 1000 --rate 1` takes 17 minutes for each of eight cases
          concurrent    memory of requests that wait for their responses
            --requests N  how many (10000)
          large         a download, and uploads of a file and a stream; memory stays flat
            --size N      megabytes of each (96; 5000 needs as much room on the disk)
          killed-download
                        `urlsession download`, killed in the middle, goes on to the same bytes
            --points N    how often it is killed (50)
            --seed N      repeats the choice of the moments (random)
          killed-upload processes that are killed while they upload; another goes on to the same bytes
            --points N    how often (50)
            --seed N      as above
          hostile-cookies
                        many hosts that set many cookies, which last; memory and file keep their limits
            --cookies N   how many (100000; 1000000 takes a minute)
          cache-flow    different responses through a cache of 4 MiB of memory and 20 MiB of disk, and then how fast a
                        cache answers that is warm
            --size N      megabytes in all (96; 10000 takes a few minutes)
          websockets    the memory of open WebSockets, and what is left of a tenth that ends in every way, and of all
            --connections N
                          how many (10000)
            --seed N      repeats the choice of the ways (random)
        """

    var proof: Proof?
    var count = 100_000
    var seed = UInt64.random(in: 1...999_999_999)
    var window = 128
    var times = 50
    var size = 96
    var rate = 32
    var requests = 10_000
    var points = 50
    var cookies = 100_000
    var connections = 10_000

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        if let first = rest.first, let proof = Proof(rawValue: first) {
            self.proof = proof
            rest.removeFirst()
        }
        while let name = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ Int($0) }), value > 0 else { return nil }
            switch name {
            case "--count": count = value
            case "--seed": seed = UInt64(value)
            case "--window": window = value
            case "--times": times = value
            case "--size": size = value
            case "--rate": rate = value
            case "--requests": requests = value
            case "--points": points = value
            case "--cookies": cookies = value
            case "--connections": connections = value
            default: return nil
            }
        }
    }
}
