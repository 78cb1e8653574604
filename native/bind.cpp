// The extension module.
#include "python_arrays.hpp"

#include <string>
#include <utility>

#include "file_memory.hpp"

namespace rankwise::python {
namespace {

// A context in which large arrays that this thread allocates, numpy's and ours, are in files of a folder.
class FileArrays {
public:
    FileArrays(std::string folder, std::size_t fewest_bytes, nb::object numpy_api)
        : place_{std::move(folder), fewest_bytes} {
        // The index of PyDataMem_SetHandler in numpy's table of functions, stable since numpy 1.22.
        constexpr std::size_t number = 304;
        void** table = static_cast<void**>(PyCapsule_GetPointer(numpy_api.ptr(), nullptr));
        if (table == nullptr) throw nb::python_error();
        set_handler_ = reinterpret_cast<SetHandler>(table[number]);
    }

    void enter() {
        if (!rankwise::file_memory::supported) return;
        handler_ = set(nb::capsule(&rankwise::file_memory::numpy_handler, "mem_handler"));
        std::swap(rankwise::file_memory::place(), place_);
    }

    void leave() {
        if (!handler_) return;
        std::swap(rankwise::file_memory::place(), place_);
        set(handler_);
        handler_.reset();
    }

private:
    using SetHandler = PyObject* (*)(PyObject*);
    rankwise::file_memory::Place place_;
    SetHandler set_handler_;
    nb::object handler_;  // numpy's previous one

    nb::object set(nb::object handler) {
        PyObject* before = set_handler_(handler.ptr());
        if (before == nullptr) throw nb::python_error();
        return nb::steal<nb::object>(before);
    }
};

}  // namespace
}  // namespace rankwise::python

NB_MODULE(_native, m) {
    using namespace rankwise::python;
    nb::set_leak_warnings(false);  // a ranking that is alive when the interpreter exits is no leak
    nb::class_<FileArrays>(m, "FileArrays", "A context in which large arrays are in unnamed files.")
        .def(nb::init<std::string, std::size_t, nb::object>(), nb::arg("folder"), nb::arg("fewest_bytes"),
             nb::arg("numpy_api"))
        .def("__enter__", &FileArrays::enter)
        .def("__exit__", [](FileArrays& self, nb::args) { self.leave(); });
    m.def("bytes_in_files", &rankwise::file_memory::total, "The total size in bytes of the arrays in files.");
    bind_rankings(m);
    bind_products(m);
    bind_svmlight(m);
}
