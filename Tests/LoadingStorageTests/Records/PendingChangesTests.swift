import LoadingSemantics
import LoadingStorage
import Testing

/// Changes that wait to be written.
@Suite struct PendingChangesTests {
    private func text(_ changes: PendingChanges<Cookie>) -> String {
        changes.list.map { change in
            switch change {
            case .stored(let cookie): "+\(cookie.name)=\(cookie.value)"
            case .removed(let identity): "-\(identity.name)"
            case .everythingRemoved: "*"
            }
        }.joined(separator: " ")
    }

    @Test("the last change of each record is pending, in the order of storing") func lastOfEach() {
        var changes = PendingChanges<Cookie>()
        #expect(changes.isEmpty)
        changes.add([
            .stored(.persistent("a", "1")), .stored(.persistent("b", "1")), .removed(Cookie.persistent("c").identity),
        ])
        #expect(text(changes) == "-c +a=1 +b=1")
        changes.add([
            .stored(.persistent("a", "2")), .stored(.persistent("c", "1")), .removed(Cookie.persistent("b").identity),
        ])
        #expect(text(changes) == "-b +a=2 +c=1")
    }

    @Test("a removal of all replaces the pending changes before it") func everythingRemoved() {
        var changes = PendingChanges<Cookie>()
        changes.add([.stored(.persistent("a")), .everythingRemoved])
        #expect(!changes.isEmpty)
        changes.add([
            .stored(.persistent("b", "1")), .stored(.persistent("c")), .removed(Cookie.persistent("c").identity),
        ])
        changes.add(.removed(Cookie.persistent("d").identity))
        #expect(text(changes) == "* +b=1")
    }

    // COOK-17: servers can set and remove any number of cookies
    @Test("the number of pending removals is bounded") func numberOfPendingRemovalsIsBounded() {
        var changes = PendingChanges<Cookie>()
        for number in 0..<50_000 {
            let cookie = Cookie.persistent("\(number)")
            changes.add([.stored(cookie), .removed(cookie.identity)])
        }
        changes.add(.stored(.persistent("last")))
        #expect(changes.count == 20_001)
        // A record that is stored again does not count as a removal.
        for number in 0..<10 { changes.add(.stored(.persistent("\(number)"))) }
        for number in 40_000..<40_020 { changes.add(.removed(Cookie.persistent("\(number)").identity)) }
        #expect(changes.count == 20_011)
    }

    // COOK-17: the size of names is bounded too
    @Test("the bytes of pending removals are bounded") func longNames() {
        var changes = PendingChanges<Cookie>()
        let name = String(repeating: "n", count: 4000)
        for number in 0..<10_000 { changes.add(.removed(Cookie.persistent("\(number)" + name).identity)) }
        #expect((4_900...5_000).contains(changes.count))
        // A record that is stored again frees its bytes.
        let count = changes.count
        changes.add(.stored(.persistent("0" + name)))
        changes.add(.removed(Cookie.persistent("9999" + name).identity))
        #expect(changes.count == count + 1)
    }

    // COOK-17: a lost removal would leave the file larger
    @Test("removals of known records are never dropped, others are bounded") func known() {
        var changes = PendingChanges<Cookie>()
        changes.known = Set((0..<30_000).map { Cookie.persistent("\($0)").identity })
        for number in (0..<60_000).reversed() {
            let cookie = Cookie.persistent("\(number)")
            changes.add([.stored(cookie), .removed(cookie.identity)])
        }
        #expect(changes.count == 50_000)
        // The first 30,000 changes are the removals of the known cookies.
        #expect(Set(changes.list.prefix(30_000).compactMap(\.removedNumber)) == Set(0..<30_000))
        #expect(changes.take().count == 50_000)
        #expect(changes.isEmpty)
        changes.add([
            .stored(.persistent("a")), .removed(Cookie.persistent("b").identity),
            .removed(Cookie.persistent("b").identity),
        ])
        #expect(text(changes) == "-b +a=v")
        changes.dropRemovals()
        #expect(text(changes) == "+a=v")
        changes.add([.everythingRemoved, .stored(.persistent("c")), .removed(Cookie.persistent("d").identity)])
        #expect(text(changes) == "* +c=v")
    }
}

extension RecordChange<Cookie> {
    fileprivate var removedNumber: Int? { if case .removed(let identity) = self { Int(identity.name) } else { nil } }
}
