// Memory that CUDA made, filled by Vulkan: exported by Tessera as a POSIX descriptor, imported by
// VK_KHR_external_memory_fd, bound to a buffer, filled there, and read back here. Headless.
//
// What is documented: NVIDIA says of cuMemExportToShareableHandle that it "can also be used in
// conjunction with other APIs (e.g. Vulkan, OpenGL) that support importing memory from the
// shareable type", and its sample simpleVulkanMMAP does so, with
// VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT. Khronos promises it for descriptors that come from
// Vulkan only (Vulkan-Docs issue 1783), and vkGetMemoryFdPropertiesKHR does not take this type. So
// this works with NVIDIA's driver on the same device, and what the memory type is to be is found
// from the buffer. The other direction, Vulkan exports and CUDA imports, is documented by both.
//
// Exit status: 0 the bytes are right, 1 they are not or a call failed, 77 nothing here to run on.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <vulkan/vulkan.h>

#include "tessera/cuda/cuda_driver.h"
#include "tessera/owners/transaction.h"
#include "tessera/sharing/exported_memory.h"

namespace {

using namespace tessera::literals;

constexpr tessera::DeviceOrdinal device_0{0};
constexpr std::uint32_t pattern = 0xa5c3f00d;
constexpr VkExternalMemoryHandleTypeFlagBits handle_type =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

[[noreturn]] void end(int status, const std::string& why) {
  std::fprintf(status == 77 ? stdout : stderr, "%s%s\n",
               status == 77 ? "skipped: " : "failed: ", why.c_str());
  std::exit(status);
}

template <class T>
T must(tessera::Result<T> result) {
  if (!result) {
    end(1, to_string(result.error()));
  }
  return std::move(result).value();
}
void must(const tessera::Status& status) {
  if (!status) {
    end(1, to_string(status.error()));
  }
}
void must(VkResult result, const char* call) {
  if (result != VK_SUCCESS) {
    end(1, std::string(call) + ": VkResult " + std::to_string(result));
  }
}

// Where a device is plugged in: how the two interfaces' devices are matched.
struct PciPlace {
  std::int32_t domain, bus, device;
  friend bool operator==(const PciPlace&, const PciPlace&) = default;
};

PciPlace place_of(tessera::Driver& driver) {
  const auto attribute = [&](std::int32_t number) {
    return must(driver.device_get_attribute({.attribute = number, .device = device_0}));
  };
  // CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, _BUS_ID, _DEVICE_ID
  return {.domain = attribute(50), .bus = attribute(33), .device = attribute(34)};
}

bool has_extension(VkPhysicalDevice physical, const std::string& name) {
  std::uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, all.data());
  return std::any_of(all.begin(), all.end(), [&](const VkExtensionProperties& extension) {
    return name == static_cast<const char*>(extension.extensionName);
  });
}

PciPlace place_of(VkPhysicalDevice physical) {
  if (!has_extension(physical, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
    return {-1, -1, -1};
  }
  VkPhysicalDevicePCIBusInfoPropertiesEXT pci = {};
  pci.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
  VkPhysicalDeviceProperties2 properties = {};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &pci;
  vkGetPhysicalDeviceProperties2(physical, &properties);
  return {static_cast<std::int32_t>(pci.pciDomain), static_cast<std::int32_t>(pci.pciBus),
          static_cast<std::int32_t>(pci.pciDevice)};
}

// A logical device with one queue. The process's end destroys what is left after an error.
class Vulkan {
 public:
  explicit Vulkan(const PciPlace& place) {
    VkApplicationInfo application = {};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo create = {};
    create.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    create.pApplicationInfo = &application;
    if (const VkResult made = vkCreateInstance(&create, nullptr, &instance_); made != VK_SUCCESS) {
      end(77, "no Vulkan driver: vkCreateInstance says " + std::to_string(made));
    }
    std::uint32_t count = 0;
    vkEnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> all(count);
    vkEnumeratePhysicalDevices(instance_, &count, all.data());
    const auto found = std::find_if(all.begin(), all.end(), [&](VkPhysicalDevice physical) {
      return place_of(physical) == place;
    });
    if (found == all.end()) {
      end(77, "none of Vulkan's " + std::to_string(count) + " devices is CUDA's device 0");
    }
    physical_ = *found;
    if (!has_extension(physical_, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
      end(77, "the device has no VK_KHR_external_memory_fd");
    }
    make_device();
  }
  Vulkan(const Vulkan&) = delete;
  Vulkan& operator=(const Vulkan&) = delete;
  ~Vulkan() {
    vkDestroyDevice(device_, nullptr);
    vkDestroyInstance(instance_, nullptr);
  }

  // Fills `size` bytes of imported memory. Takes the descriptor over if the import succeeds.
  void fill(tessera::FileDescriptor descriptor, VkDeviceSize size) {
    const VkBuffer buffer = make_buffer(size);
    VkMemoryRequirements wanted = {};
    vkGetBufferMemoryRequirements(device_, buffer, &wanted);
    if (wanted.size > size) {
      end(1, "a buffer needs more than the memory that was exported");
    }
    const VkDeviceMemory memory = import(std::move(descriptor), size, buffer, wanted);
    must(vkBindBufferMemory(device_, buffer, memory, 0), "vkBindBufferMemory");
    run_fill(buffer);
    vkDestroyBuffer(device_, buffer, nullptr);
    vkFreeMemory(device_, memory, nullptr);
  }

 private:
  void make_device() {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
    // Those that draw or compute can fill, too.
    const auto found = std::find_if(families.begin(), families.end(), [](const auto& family) {
      return (family.queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0;
    });
    if (found == families.end()) {
      end(77, "the device has no queue that fills buffers");
    }
    family_ = static_cast<std::uint32_t>(found - families.begin());
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = family_;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    const char* extension = VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME;
    VkDeviceCreateInfo create = {};
    create.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    create.queueCreateInfoCount = 1;
    create.pQueueCreateInfos = &queue;
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = &extension;
    must(vkCreateDevice(physical_, &create, nullptr, &device_), "vkCreateDevice");
    vkGetDeviceQueue(device_, family_, 0, &queue_);
  }

  VkBuffer make_buffer(VkDeviceSize size) {
    VkExternalMemoryBufferCreateInfo external = {};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = handle_type;
    VkBufferCreateInfo create = {};
    create.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    create.pNext = &external;
    create.size = size;
    create.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    create.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    VkBuffer buffer = VK_NULL_HANDLE;
    must(vkCreateBuffer(device_, &create, nullptr, &buffer), "vkCreateBuffer");
    return buffer;
  }

  // The memory types that are on the device and that the buffer takes, in Vulkan's order.
  [[nodiscard]] std::vector<std::uint32_t> memory_types(const VkMemoryRequirements& wanted) const {
    VkPhysicalDeviceMemoryProperties properties = {};
    vkGetPhysicalDeviceMemoryProperties(physical_, &properties);
    std::vector<std::uint32_t> types;
    for (std::uint32_t i = 0; i < properties.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = properties.memoryTypes[i].propertyFlags;
      if ((wanted.memoryTypeBits & (1U << i)) != 0 &&
          (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0) {
        types.push_back(i);
      }
    }
    return types;
  }

  VkDeviceMemory import(tessera::FileDescriptor descriptor, VkDeviceSize size, VkBuffer buffer,
                        const VkMemoryRequirements& wanted) {
    VkResult last = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    for (const std::uint32_t type : memory_types(wanted)) {
      VkMemoryDedicatedAllocateInfo dedicated = {};
      dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
      dedicated.buffer = buffer;
      VkImportMemoryFdInfoKHR import_info = {};
      import_info.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
      import_info.handleType = handle_type;
      import_info.fd = descriptor.get();
      VkMemoryAllocateInfo allocate = {};
      allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
      allocate.allocationSize = size;
      allocate.memoryTypeIndex = type;
      // The memory was not made for one buffer: without the dedicated form first.
      for (const void* next :
           {static_cast<const void*>(nullptr), static_cast<const void*>(&dedicated)}) {
        import_info.pNext = next;
        allocate.pNext = &import_info;
        VkDeviceMemory memory = VK_NULL_HANDLE;
        last = vkAllocateMemory(device_, &allocate, nullptr, &memory);
        if (last == VK_SUCCESS) {
          static_cast<void>(descriptor.release());  // Vulkan's now
          std::printf("imported as memory type %u%s\n", type, next == nullptr ? "" : ", dedicated");
          return memory;
        }
      }
    }
    must(last, "vkAllocateMemory");
    return VK_NULL_HANDLE;
  }

  void run_fill(VkBuffer buffer) {
    VkCommandPoolCreateInfo pool_info = {};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = family_;
    VkCommandPool pool = VK_NULL_HANDLE;
    must(vkCreateCommandPool(device_, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo allocate = {};
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    must(vkAllocateCommandBuffers(device_, &allocate, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin = {};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, pattern);
    // What was written goes to whoever is outside Vulkan.
    VkBufferMemoryBarrier to_cuda = {};
    to_cuda.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER;
    to_cuda.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    to_cuda.srcQueueFamilyIndex = family_;
    to_cuda.dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL;
    to_cuda.buffer = buffer;
    to_cuda.size = VK_WHOLE_SIZE;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0, 0, nullptr, 1, &to_cuda, 0,
                         nullptr);
    must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit = {};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    must(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    must(vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
    vkDestroyCommandPool(device_, pool, nullptr);
  }

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  VkQueue queue_ = VK_NULL_HANDLE;
};

// How many words of the memory are not what Vulkan was to write.
std::size_t wrong_words(tessera::Driver& driver, tessera::AddressRange range) {
  std::vector<std::uint32_t> words(range.size() / tessera::Bytes(sizeof(std::uint32_t)));
  must(driver.memcpy_dtoh(
      {.destination = std::as_writable_bytes(std::span(words)), .source = range.begin()}));
  return static_cast<std::size_t>(std::count_if(
      words.begin(), words.end(), [](std::uint32_t word) { return word != pattern; }));
}

}  // namespace

int main() {
  auto opened = tessera::cuda::CudaDriver::open();
  if (!opened) {
    end(77, to_string(opened.error()));
  }
  tessera::Driver& driver = **opened;
  if (const tessera::Status started = driver.init(0); !started) {
    end(77, to_string(started.error()));
  }
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  Vulkan vulkan(place_of(driver));
  {
    const tessera::MemoryOptions memory = {.exports = tessera::HandleTypes::posix_file_descriptor};
    tessera::Transaction transaction(driver);
    const auto* made = must(transaction.create({.size = 8_MiB, .memory = memory}));
    const auto* place = must(transaction.reserve({.size = made->size(), .memory = memory}));
    must(transaction.map(*place, 0_B, *made));
    must(transaction.grant(place->range(), tessera::AccessSet::of_device(device_0)));
    const tessera::AddressRange range = place->range();
    must(driver.memset_d8({.destination = range.begin(), .value = 0, .size = range.size()}));
    must(driver.ctx_synchronize());
    std::printf("made %llu bytes with CUDA; %zu words differ from the pattern\n",
                static_cast<unsigned long long>(range.size().value()), wrong_words(driver, range));

    const auto exported = must(tessera::ExportedMemory::of_range(driver, range));
    vulkan.fill(must(exported.descriptors()[0].duplicate()), range.size().value());
    const std::size_t wrong = wrong_words(driver, range);
    if (wrong != 0) {
      end(1, std::to_string(wrong) + " words are not what Vulkan wrote");
    }
    std::printf("filled by Vulkan, read by CUDA: all words are right\n");
  }
  must(driver.ctx_set_current(tessera::ContextHandle()));
  must(driver.device_primary_ctx_release(device_0));
  return 0;
}
